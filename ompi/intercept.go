package ompi

// The profiling interface (MPI-3.1 §14.2). A call that an interceptor sees takes a way of its own, so that without one a call pays one
// look at a flag at most: closures and what they refer to live on the heap, and the functions below are where they are made.
// Calls that only tell what this rank knows (Rank, Size, Name, …) are not reported.

// Interceptor is called around every MPI call; next runs the call. What it returns is what the call returns. Calls that start an
// operation give no error to it but their own: those of the operation come when it is waited for.
type Interceptor func(call Call, next func() error) error

// Call describes an MPI call to an Interceptor.
type Call struct {
	Name  string // MPI's name, such as "Send"
	Comm  *Comm
	Peer  int   // rank, or Undefined
	Bytes int64 // of the local buffer
}

// WithInterceptor has f called around every MPI call of the instance. Without one, calls do not pay for the possibility.
func WithInterceptor(f Interceptor) Option {
	return func(o *options) { o.interceptor = f }
}

// seen reports whether an interceptor is called around calls on c.
func (c *Comm) seen() bool { return c != nil && c.odd }

// call runs a call through the interceptor, if there is one.
func (c *Comm) call(name string, peer int, bytes int64, f func() error) error {
	if c == nil || c.inst.intercept == nil {
		return f()
	}
	return c.inst.intercept(Call{Name: name, Comm: c.face(), Peer: peer, Bytes: bytes}, f)
}

// observed is call for a function with a result. Of a call that the interceptor does not make the result is zero.
func observed[T any](c *Comm, name string, peer int, bytes int64, f func() (T, error)) (out T, err error) {
	err = c.call(name, peer, bytes, func() (err error) {
		out, err = f()
		return err
	})
	return out, err
}

// observedBool is observed for calls that test.
func observedBool[T any](c *Comm, name string, peer int, bytes int64, f func() (T, bool, error)) (out T, ok bool, err error) {
	err = c.call(name, peer, bytes, func() (err error) {
		out, ok, err = f()
		return err
	})
	return out, ok, err
}

// observedStart is observed for calls that make a request.
func observedStart(c *Comm, name string, peer int, bytes int64, f func() Request) Request {
	r, err := observed(c, name, peer, bytes, func() (Request, error) { return f(), nil })
	if err != nil {
		return failedRequest(c, name, err)
	}
	return r
}

// call runs a call that concerns no communicator through the interceptor.
func (i *Instance) call(name string, f func() error) error {
	if i.intercept == nil {
		return f()
	}
	return i.intercept(Call{Name: name, Comm: i.world, Peer: Undefined}, f)
}
