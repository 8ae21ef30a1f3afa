"""A journal in a file that the processes of one machine share: adapters/journals/FORMAT.md."""
