"""Where quotes and swaps come from: this process, or a service."""
