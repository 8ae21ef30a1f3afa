"""A journal in Postgres, for processes and machines that share a wallet: FORMAT.md, spec/."""
