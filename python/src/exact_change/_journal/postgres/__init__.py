"""A journal in Postgres, for processes and machines that share a wallet. See FORMAT.md, spec/."""
