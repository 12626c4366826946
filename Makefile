# Every target is a command of tasks.py: `make book`, `make test`, ...
COMMANDS = book test serve lab bench dist assignments lock clean
.PHONY: help $(COMMANDS)

help:
	@python3 tasks.py --help

$(COMMANDS):
	@python3 tasks.py $@
