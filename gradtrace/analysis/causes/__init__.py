"""The search for what is wrong in a run: functions (questions) that each look for one kind of cause, most serious
first.
"""
