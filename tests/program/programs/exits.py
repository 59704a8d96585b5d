# exit() caught
try:
    sys_exit = exit
    sys_exit(3)
except SystemExit as err:
    print("code", err.code)
