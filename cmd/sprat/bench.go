package main

import (
	"context"

	"github.com/spf13/cobra"
)

// benchCommand holds the experiments; each has a file of its own.
func (c *cli) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench EXPERIMENT",
		Short: "Experiments with tables and plots",
		Args:  cobra.NoArgs,
		RunE: c.action(func(context.Context) error {
			return badUsage("bench: name an experiment: ann, churn, iops, mixed")
		}),
	}
	cmd.AddCommand(c.benchANNCommand(), c.benchChurnCommand(), c.benchIOPSCommand(), c.benchMixedCommand())
	return cmd
}
