"""Nodes of Solana: asked in turn, within deadlines, and held to what they say."""
