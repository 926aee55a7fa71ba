// Package mca is the modular component architecture: it knows which frameworks
// and components exist and what their parameters are worth.
//
// A framework (btl, pml, ...) names an interface; a component (sm, tcp, ...)
// is one implementation of it. Both announce themselves from init, as drivers
// do in database/sql; a [Registry] is a snapshot of what was announced, plus
// the components of one instance alone.
//
// A parameter is a field of an option struct:
//
//	type Options struct {
//		EagerLimit int64 `mca:"eager_limit" default:"4k" min:"64" level:"4" unit:"bytes" help:"largest message sent eagerly"`
//	}
//
// Registered by component sm of framework btl, its full name is
// btl_sm_eager_limit. That one declaration feeds decoding, validation, the
// listing of ompi_info and the documentation.
//
// The tags are
//
//	mca         name of the parameter inside its component (required)
//	help        one sentence for the user (required)
//	default     value when no source sets one; see below
//	level       1 to 9 as in MPI_T (MPI 4.1, 15.3.1): {user,tuner,dev} x {basic,detail,all}; 9 when absent
//	unit        what a number counts: "bytes", "microseconds", ...
//	min, max    inclusive bounds of a number or duration, in the same notation as values
//	enum        "a|b|c", the only values a string (or each element of a list) may take
//	settable    "true" when [Params.Set] may change it while the program runs
//	deprecated  what to use instead; setting the parameter then warns
//
// A field that Options already returns non-zero keeps that value as its
// default, which lets components share an embedded struct of parameters and
// still differ in their defaults. Without either, the default is the zero value.
//
// The bare name of a framework (btl, pml) is its selection list: "self,sm"
// uses only these, "^tcp" all but this one.
//
// [Load] layers the sources of values, lowest first: defaults, system file,
// user file, OMPI_MCA_<name> in the environment, tune files, command line,
// programming interface. Every value is checked wherever it stands, also when
// a higher layer overrides it, and the source of each effective value is kept.
//
// Parameters are settable where a change concerns nobody but this process: see
// [Params.Watch].
//
// Any package may import mca; mca imports no other package of this module.
package mca
