"""What the run core needs from outside, as small protocols. Imports nothing but `errors`; imported by every room above."""
