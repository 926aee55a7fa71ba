// Command ompi_info shows the frameworks, components and parameters of this
// build, and the value each parameter has here with the source it comes from.
//
//	ompi_info                      version and components
//	ompi_info --all                everything
//	ompi_info --param btl sm       the parameters of one component
//	ompi_info --param all all --level 9 --parsable
//	ompi_info --explain pml ob1 --size 1m --peer host
//	                               how such a message would go, and why
//
// A parameter that is wrong where it is set (a file, the environment) is reported on the standard error; what is right is listed
// all the same. Exit status is 1 when a parameter or a name is wrong, 2 for a wrong command line.
package main

import (
	"os"

	"github.com/ompi-go/ompi-go/mca"
	_ "github.com/ompi-go/ompi-go/ompi" // registers the built-in components
)

func main() {
	os.Exit(run(os.Args[1:], mca.NewRegistry, mca.DefaultInput(), os.Stdout, os.Stderr))
}
