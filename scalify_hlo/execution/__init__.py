"""Running modules and comparing what they compute.

- `interpreter`: the StableHLO reference interpreter, in processes that it may abort;
- `xla`: compiling and running on XLA:CPU;
- `promote`: the same program in f64, which measures a program's own rounding noise;
- `inputs`: seeded inputs, and their (data, scale) pairs;
- `compare`: original against rewritten, result by result;
- `check`: all of it, for one pair of modules.

Import the submodules: only `xla` and `check` need `jax` itself.
"""
