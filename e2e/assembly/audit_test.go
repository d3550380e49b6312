package assembly_test

import (
	"time"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// hops reads audit rows until there are as many as wanted: those of direct answers
// join a commit a moment later.
func (r *rig) hops(req *adminv1.ListHopsRequest, want int) []*adminv1.Hop {
	r.t.Helper()
	admin := adminv1.NewAdminServiceClient(r.conn)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		res, err := admin.ListHops(r.ctx(), req)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(res.GetHops()) >= want || time.Now().After(end) {
			return res.GetHops()
		}
	}
}
