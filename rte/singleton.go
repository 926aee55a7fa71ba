package rte

// singleton is a job of one that nobody launched: a hub of one, except that its end is the end of the process.
type singleton struct {
	Job
	opt *Options
}

func newSingleton(opt *Options) Job {
	return &singleton{NewHub(1).Job(0), opt}
}

func (s *singleton) Launcher() string { return "singleton" }

func (s *singleton) Abort(code int, msg string) {
	s.Job.Abort(code, msg)
	s.opt.sayAbort(0, code, msg)
	s.opt.exit(exitStatus(code))
}
