package platform

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder makes sure that one process uses a data folder. The lock ends with
// the process, however it ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("the data folder %s is in use by another sabha; stop that one or name another folder with --data", dir)
	}
	return f, nil
}
