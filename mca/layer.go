package mca

import (
	"os"
	"path/filepath"
	"strconv"
)

// Layer is where a value comes from; a higher layer overrides a lower one.
type Layer int

// The layers, lowest first.
const (
	LayerDefault     Layer = iota // declared with the parameter
	LayerSystemFile               // /etc/ompi-go/mca-params.conf
	LayerUserFile                 // $HOME/.ompi-go/mca-params.conf
	LayerEnv                      // OMPI_MCA_<name>
	LayerTune                     // --tune FILE
	LayerCommandLine              // --mca name value
	LayerAPI                      // ompi.WithParam
	layerEnd

	// LayerRunTime is where Params.Set puts values; nothing else can.
	LayerRunTime = layerEnd
)

var layerNames = [...]string{"default", "system file", "user file", "environment", "tune file", "command line", "api", "run time"}

// String returns the name of the layer, such as "command line".
func (l Layer) String() string {
	if l < 0 || l > LayerRunTime {
		return "layer " + strconv.Itoa(int(l))
	}
	return layerNames[l]
}

// strict reports whether every unknown name in the layer is an error. What
// somebody typed for this very run is; files and the environment also serve
// other MPI libraries.
func (l Layer) strict() bool { return l >= LayerTune }

// Setting is one value as one source gives it.
type Setting struct {
	Name  string // full parameter name, such as "btl_tcp_links"
	Value string // as written
	Layer Layer
	// Where says exactly where, for people: "/etc/ompi-go/mca-params.conf:12",
	// "environment OMPI_MCA_btl", "command line --mca btl", "tune FILE:3",
	// "ompi.WithParam", "default".
	Where string
}

// Source is the data source as ompi_info prints it: Where, with files in Open
// MPI's form "file (path:line)".
func (s Setting) Source() string {
	switch s.Layer {
	case LayerSystemFile, LayerUserFile:
		return "file (" + s.Where + ")"
	}
	if s.Where == "" {
		return s.Layer.String()
	}
	return s.Where
}

// CommandLine returns the setting of one --mca name value.
func CommandLine(name, value string) Setting {
	return Setting{Name: name, Value: value, Layer: LayerCommandLine, Where: "command line --mca " + name}
}

const (
	// EnvPrefix begins the environment variables that set parameters.
	EnvPrefix = "OMPI_MCA_"
	// SystemFile is the parameter file of the administrator.
	SystemFile = "/etc/ompi-go/mca-params.conf"
	// userFile is the user's parameter file below the home directory.
	userFile = ".ompi-go/mca-params.conf"
)

// Input is everything [Load] reads.
type Input struct {
	// SystemFile and UserFile are paths of parameter files. "" reads none, and
	// a file that does not exist is the same as an empty one.
	SystemFile, UserFile string
	// Environ is in the form of os.Environ. Load reads the variables
	// OMPI_MCA_<name> and [HandoffVar].
	Environ []string
	// Settings come from tune files, the command line and the programming
	// interface, each with its layer; in one layer the last of a name counts.
	Settings []Setting
	// Warn is told, once each, of settings that are ignored (names of
	// frameworks this library does not have) or deprecated. It may be nil.
	Warn func(msg string)
}

// DefaultInput returns the files and the environment of this process.
func DefaultInput() Input {
	in := Input{SystemFile: SystemFile, Environ: os.Environ()}
	// Without a home directory there is no user file to read.
	if home, err := os.UserHomeDir(); err == nil {
		in.UserFile = filepath.Join(home, userFile)
	}
	return in
}
