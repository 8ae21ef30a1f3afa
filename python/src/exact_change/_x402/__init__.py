"""x402, versions 1 and 2, scheme ``exact`` on Solana."""
