package ompi

// The built-in components. An outside component is added by importing its package, or by WithComponent.
import (
	_ "github.com/ompi-go/ompi-go/bml/r2"
	_ "github.com/ompi-go/ompi-go/btl/portals4"
	_ "github.com/ompi-go/ompi-go/btl/self"
	_ "github.com/ompi-go/ompi-go/btl/sm"
	_ "github.com/ompi-go/ompi-go/btl/tcp"
	_ "github.com/ompi-go/ompi-go/btl/udp"
	_ "github.com/ompi-go/ompi-go/btl/unimem"
	_ "github.com/ompi-go/ompi-go/coll/basic"
	_ "github.com/ompi-go/ompi-go/coll/inter"
	_ "github.com/ompi-go/ompi-go/coll/nbc"
	_ "github.com/ompi-go/ompi-go/coll/portals4"
	_ "github.com/ompi-go/ompi-go/coll/self"
	_ "github.com/ompi-go/ompi-go/coll/sm"
	_ "github.com/ompi-go/ompi-go/coll/tuned"
	_ "github.com/ompi-go/ompi-go/mpool/heap"
	_ "github.com/ompi-go/ompi-go/mpool/huge"
	_ "github.com/ompi-go/ompi-go/mpool/shm"
	_ "github.com/ompi-go/ompi-go/mtl/portals4"
	_ "github.com/ompi-go/ompi-go/osc/pt2pt"
	_ "github.com/ompi-go/ompi-go/osc/sm"
	_ "github.com/ompi-go/ompi-go/pml/cm"
	_ "github.com/ompi-go/ompi-go/pml/ob1"
	_ "github.com/ompi-go/ompi-go/rcache/rb"
)
