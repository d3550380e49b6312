package fleet

import (
	"os/exec"
	"runtime"
	"syscall"
)

// launcher starts processes that die with this one, however that ends. The kernel
// ties such a process to the thread that started it, so one thread starts all of
// them and lives as long as the program.
type launcher struct {
	orders chan order
}

type order struct {
	command *exec.Cmd
	started chan error
}

func newLauncher() *launcher {
	l := &launcher{orders: make(chan order)}
	go func() {
		runtime.LockOSThread()
		for o := range l.orders {
			o.started <- o.command.Start()
		}
	}()
	return l
}

func (l *launcher) start(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	o := order{c, make(chan error, 1)}
	l.orders <- o
	return <-o.started
}

func (l *launcher) close() { close(l.orders) }
