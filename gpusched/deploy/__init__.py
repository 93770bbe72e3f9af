"""What a way of sharing the GPU needs; recipes for programs; checks of a machine."""
