package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

func (r *run) review() *cobra.Command {
	c := &cobra.Command{Use: "review", Short: "See what waits for people, and decide on it", Args: cobra.NoArgs}
	c.AddCommand(r.reviewList(), r.reviewShow(), r.reviewClaim(), r.reviewRelease(), r.reviewReassign(), r.reviewDecide(true), r.reviewDecide(false), r.reviewAsk())
	return group(c)
}

func (r *run) reviewList() *cobra.Command {
	var (
		req            reviewv1.ListItemsRequest
		done, jsonLine bool
	)
	c := &cobra.Command{
		Use: "list", Short: "List what waits for people, what is due first first", Args: exactly(0),
		Long: "List shows at most 200 items. It needs a key with a role: viewer, reviewer, operator, auditor or admin.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				req.PageSize = 200
				if done {
					req.States = []reviewv1.State{reviewv1.State_STATE_APPROVED, reviewv1.State_STATE_REJECTED, reviewv1.State_STATE_EXPIRED, reviewv1.State_STATE_CANCELED}
				}
				res, err := c.Reviews(ctx, &req)
				if err != nil {
					return err
				}
				if jsonLine {
					for _, i := range res.GetItems() {
						if err := r.sayJSON(i); err != nil {
							return err
						}
					}
					return nil
				}
				lines := r.style().Reviews(res.GetItems())
				if len(res.GetItems()) == 0 {
					lines = []string{"Nothing here."}
				}
				return r.say(append(lines, fmt.Sprintf("%d wait, %d overdue, %d held by you.", res.GetOpen(), res.GetOverdue(), res.GetMine()))...)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&req.Mine, "mine", false, "only what you hold")
	f.BoolVar(&req.Unassigned, "unassigned", false, "only what nobody holds")
	f.BoolVar(&done, "done", false, "what has ended instead, the newest first")
	f.StringVar(&req.Queue, "queue", "", "only of this queue")
	f.StringVar(&req.Risk, "risk", "", "only of this risk: low, medium or high")
	f.StringVar(&req.Query, "query", "", "only with these words in title, requester, playbook or id")
	f.BoolVar(&jsonLine, "json", false, "print each as a line of JSON")
	return r.calls(c)
}

func (r *run) reviewShow() *cobra.Command {
	var jsonLine bool
	c := &cobra.Command{
		Use: "show ITEM", Short: "Show an item with everything that a decision rests on", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := c.Review(ctx, args[0])
				if err != nil {
					return err
				}
				if jsonLine {
					return r.sayJSON(d)
				}
				return r.say(r.style().Review(d)...)
			})
		},
	}
	c.Flags().BoolVar(&jsonLine, "json", false, "print it as a line of JSON")
	return r.calls(c)
}

// reviewed is a command that changes an item and tells what it is then.
func (r *run) reviewed(c *cobra.Command, f func(context.Context, *client.Client, string) (*reviewv1.Item, error)) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			i, err := f(ctx, c, args[0])
			if err != nil {
				return err
			}
			return r.say(r.style().Reviews([]*reviewv1.Item{i})...)
		})
	}
	return r.calls(c)
}

func (r *run) reviewClaim() *cobra.Command {
	return r.reviewed(&cobra.Command{Use: "claim ITEM", Short: "Hold an item, so that nobody else decides on it meanwhile; again, to hold it longer", Args: exactly(1)},
		func(ctx context.Context, c *client.Client, id string) (*reviewv1.Item, error) {
			return c.Claim(ctx, id)
		})
}

func (r *run) reviewRelease() *cobra.Command {
	var note string
	c := &cobra.Command{Use: "release ITEM", Short: "Give an item back", Args: exactly(1)}
	c.Flags().StringVar(&note, "note", "", "a note for whoever takes it next")
	return r.reviewed(c, func(ctx context.Context, c *client.Client, id string) (*reviewv1.Item, error) {
		return c.Release(ctx, id, note)
	})
}

func (r *run) reviewReassign() *cobra.Command {
	var to, note string
	c := &cobra.Command{
		Use: "reassign ITEM --to PERSON", Short: "Hand an item to somebody else; without --to, list who may take it", Args: exactly(1),
		Long: "Reassign makes a person the holder of an item. A person is organisation/subject, as the list says.",
	}
	c.Flags().StringVar(&to, "to", "", "who holds it then, as organisation/subject")
	c.Flags().StringVar(&note, "note", "", "a note for whoever gets it")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if to != "" {
				i, err := c.Reassign(ctx, args[0], to, note)
				if err != nil {
					return err
				}
				return r.say(r.style().Reviews([]*reviewv1.Item{i})...)
			}
			people, err := c.People(ctx, args[0])
			if err != nil {
				return err
			}
			if len(people) == 0 {
				people = []string{"Nobody else who may decide on it has been here in the last 90 days; a person can still be named with --to."}
			}
			return r.say(people...)
		})
	}
	return r.calls(c)
}

func (r *run) reviewAsk() *cobra.Command {
	c := &cobra.Command{Use: `ask ITEM "QUESTION"`, Short: "Ask whoever an item is for; it waits until the answer has come", Args: exactly(2)}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			i, err := c.AskRequester(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return r.say(r.style().Reviews([]*reviewv1.Item{i})...)
		})
	}
	return r.calls(c)
}

func (r *run) reviewDecide(approve bool) *cobra.Command {
	var digest, reason, edited string
	c := &cobra.Command{
		Use: "reject ITEM --digest D --reason WHY", Short: "Reject an item; its task ends with your reason", Args: exactly(1),
		Long: "Reject needs the digest that show has shown: you decide on that and nothing else.",
	}
	if approve {
		c.Use, c.Short = "approve ITEM --digest D", "Approve an item; its task goes on at once"
		c.Long = "Approve needs the digest that show has shown: you approve that and nothing else."
		c.Flags().StringVar(&edited, "edited", "", "the content as you want it instead: JSON, or @FILE")
	}
	c.Flags().StringVar(&digest, "digest", "", fmt.Sprintf("the digest that was shown, at least %d digits of it", render.DigestShown))
	c.Flags().StringVar(&reason, "reason", "", "why")
	return r.reviewed(c, func(ctx context.Context, c *client.Client, id string) (*reviewv1.Item, error) {
		if len(digest) < render.DigestShown {
			return nil, usagef("--digest is missing or shorter than %d digits; see it with: sabha review show %s", render.DigestShown, id)
		}
		req := &reviewv1.DecideRequest{Id: id, Digest: digest, Approve: approve, Reason: reason}
		var err error
		if req.Edited, err = contentOf(edited); err != nil {
			return nil, err
		}
		d, err := c.Review(ctx, id)
		if err != nil {
			return nil, err
		}
		// A digest that is too short for the service stands for the whole one; any other
		// is refused there.
		if strings.HasPrefix(d.GetItem().GetDigest(), digest) {
			req.Digest = d.GetItem().GetDigest()
		}
		return c.Decide(ctx, req)
	})
}

// contentOf reads an edited content: JSON, or a file of it. Without any it is nil.
func contentOf(edited string) (*structpb.Value, error) {
	if edited == "" {
		return nil, nil
	}
	raw := []byte(edited)
	if file, ok := strings.CutPrefix(edited, "@"); ok {
		var err error
		if raw, err = os.ReadFile(file); err != nil {
			return nil, usagef("--edited: %v", err)
		}
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, usagef("--edited is no JSON: %v; a text goes in double quotes", err)
	}
	return structpb.NewValue(v)
}
