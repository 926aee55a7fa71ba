package rb

// list holds the unused registrations, in the order in which their last users left.
type list struct{ oldest, newest *node }

func (l *list) add(x *node) {
	x.older, x.newer = l.newest, nil
	if l.newest == nil {
		l.oldest = x
	} else {
		l.newest.newer = x
	}
	l.newest = x
}

func (l *list) remove(x *node) {
	if x.older == nil {
		l.oldest = x.newer
	} else {
		x.older.newer = x.newer
	}
	if x.newer == nil {
		l.newest = x.older
	} else {
		x.newer.older = x.older
	}
	x.older, x.newer = nil, nil
}
