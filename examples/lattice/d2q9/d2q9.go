// Package d2q9 is a lattice-Boltzmann flow in integer arithmetic: nine populations a cell, periodic in x, walls above and below.
//
// A field is computed in strips of whole rows, which a program may spread over processes as it likes: every operation is exact, so
// any split gives the same bits. The package knows nothing of messages. A strip says which words its neighbours need (PackUp,
// PackDown) and takes theirs (UnpackUp, UnpackDown); what lies between is the caller's business.
//
// A time step of a strip is
//
//	s.PackUp(up); s.PackDown(down)   // and send them to the neighbours
//	s.StepInner()                    // needs no neighbour: overlap
//	s.UnpackUp(fromUp)               // or s.WallUp() at the edge of the field
//	s.UnpackDown(fromDown)           // or s.WallDown()
//	s.StepEdges()
//
// The model is the two-relaxation-time form of the incompressible equilibrium of He and Luo. Mass is conserved exactly: whatever
// rounding loses in the moving populations, the resting one keeps.
package d2q9

// Populations are numbered anticlockwise from east; the resting one comes first.
const (
	rest = iota
	east
	northEast
	north
	northWest
	west
	southWest
	south
	southEast
	directions
)

// One is the density of the fluid at rest in the fixed-point unit of the populations.
const One = 1 << 21

// Speed is the velocity of the wind in lattice units (cells a step).
const Speed = 0.1

const (
	// wind is the momentum that a cell of the first column is drawn to. That column is a fan: it drives the flow and straightens
	// what comes round through the periodic edge. It pulls gently (an eighth of the difference a step), which bounds the pressure
	// it can build, so that no picture, not even a closed duct, blows the flow up.
	wind     = int64(One / 10) // Speed as momentum
	fanShift = 4               // half of the pull: what one population gains, its opposite loses

	// Relaxation in 1/65536. The even rate sets the viscosity (1/omega - 1/2)/3; the odd one follows from the product
	// (1/even - 1/2)(1/odd - 1/2) = 1/4, the most stable choice.
	fraction  = 16
	omegaEven = 113975 // 1/0.575
	omegaOdd  = 17096  // 1/(0.5 + 0.25/0.075)
	evenAxis  = omegaEven * 2 / 9
	evenDiag  = omegaEven / 18
	oddDiag   = omegaOdd / 6
)

// Populations that cross a row travel as 21-bit numbers, three to a word; see halo.go.
const (
	packBits = 21
	packHalf = 1 << (packBits - 1)
	packMask = 1<<packBits - 1
)

// Viscosity is the kinematic viscosity in lattice units.
func Viscosity() float64 {
	return (float64(1<<fraction)/omegaEven - 0.5) / 3
}
