"""What goes to and comes from a service, by the interface of ``openapi.json``."""
