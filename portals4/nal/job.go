package nal

import "github.com/ompi-go/ompi-go/rte"

// keyPrefix begins the keys under which the carriers' business cards lie: the instance's own BTLs have the names without it.
const keyPrefix = "ptl."

// job is the rank's job as carriers see it: what they publish and read is theirs alone.
type job struct {
	rte.Job
	keys *[]string // of what the carrier has published
}

func (j job) Put(key string, value []byte) error {
	*j.keys = append(*j.keys, key)
	return j.Job.Put(keyPrefix+key, value)
}

func (j job) Get(rank int, key string) ([]byte, error) { return j.Job.Get(rank, keyPrefix+key) }

// SayOnce implements rte.Sayer where the job does.
func (j job) SayOnce(key, msg string) bool {
	s, ok := j.Job.(rte.Sayer)
	return ok && s.SayOnce(sayPrefix+key, msg)
}
