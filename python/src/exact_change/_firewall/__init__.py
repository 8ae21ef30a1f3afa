"""What a swap may be before a wallet signs it, stage by stage. Unknown means refuse."""
