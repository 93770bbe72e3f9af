"""One workload under every way of sharing the GPU: analysed, simulated, compared."""
