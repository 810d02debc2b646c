"""One small file for each way to train on several devices; docs/sharding.md compares them.

`XLA_FLAGS=--xla_force_host_platform_device_count=8 python -m examples.devices.data_parallel` runs one on virtual CPU
devices. Each trains in `precision="fp8"` on 8 devices, and beside it the same step in f32 on one.
"""
