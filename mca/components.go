package mca

// Components returns the components of a framework that its selection list allows, sorted by name.
func (p *Params) Components(framework string) []Component {
	var allowed []Component
	selection := p.Selection(framework)
	for _, c := range p.reg.components[framework] {
		if selection.Allows(c.Name()) {
			allowed = append(allowed, c)
		}
	}
	return allowed
}
