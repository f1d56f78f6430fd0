"""The instruments' own code. It runs in the subject's Python, 3.8 and later, from inside a script: each file stands
alone, imports the standard library only, and keeps every name that is not for the script's author behind an underscore.
"""
