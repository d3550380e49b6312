package console

import (
	"sabha.dev/chassis/service"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
)

// review is the service in which items wait for people.
const review = "review"

// openDesk serves the pages of reviewers where there is a review service.
func (r *Running) openDesk(base *service.Base, c Config) error {
	if len(c.Peers) > 0 && c.Peers[review] == "" {
		return nil
	}
	conn, err := base.Peer(review)
	if err != nil {
		return err
	}
	r.site.OpenQuestions(desk.NewQuestions(reviewv1.NewDiscussionServiceClient(conn), base.Log))
	r.site.OpenDesk(desk.New(reviewv1.NewReviewServiceClient(conn), base.Log))
	return nil
}
