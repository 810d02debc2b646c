"""The walk over a program that applies its rules: functions, the public interface, what is decided before."""
