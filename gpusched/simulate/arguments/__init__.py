"""Arguments of the simulators of releases, checked and as the core takes them."""
