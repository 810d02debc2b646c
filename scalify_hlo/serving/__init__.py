"""Serving: a forward program with its weights in FP8 and scales that cost nothing at run time.

calibrate (`calibration`) measures tensors on sample inputs and chooses scales; the pass `scalify-pin-scales` builds
them into the module; pack (`packing`) stores the weights as the pinned module takes them; compare (`comparison`) says
what was lost. `tensors` reads and writes the files of arrays.
"""
