"""The caller's rules about money: caps on what leaves the wallet, and allow and deny lists."""
