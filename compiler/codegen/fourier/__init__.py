"""Fast Fourier transforms in registers and local memory, of which the strategy `fourier` makes kernels."""
