package compare

import "context"

// Launcher gives our mpirun and this program, for who starts jobs of its own. cleanup removes what was made.
func Launcher(ctx context.Context) (mpirun, bench string, cleanup func(), err error) {
	r, cleanup, err := NewRunner()
	if err != nil {
		return "", "", nil, err
	}
	if mpirun, bench, err = r.Ours(ctx); err != nil {
		cleanup()
		return "", "", nil, err
	}
	return mpirun, bench, cleanup, nil
}

// Output runs a program to its end and gives what it printed.
func Output(ctx context.Context, argv []string) (string, error) {
	out, err := start(ctx, command{argv: argv})
	return out.stdout, err
}
