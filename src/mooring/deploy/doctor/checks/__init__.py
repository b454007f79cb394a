"""The checks themselves, by what they look at: functions of the evidence, without any I/O."""
