# Runs in the guest, as root, when it has booted: the command from the kernel's command line, as an
# ordinary user, in a service of that user's own manager. Prints the outcome and turns the machine off.
command=$(sed -n 's/.*reeve\.command=\([^ ]*\).*/\1/p' /proc/cmdline | base64 -d)
stty -F /dev/ttyS0 -onlcr cols 200 2>/dev/null
mkdir -p /work
mount -t tmpfs -o size=700M,mode=755 none /work
# Tests write beside the sources: a layer of memory takes that.
mkdir /work/upper /work/tree /work/scratch
mount -t overlay -o lowerdir=/repo,upperdir=/work/upper,workdir=/work/scratch none /work/tree
chown -R reeve /work/tree/node_modules/.vi* 2>/dev/null
chown reeve /work/tree /work/tree/node_modules
echo "booted in $(cut -d. -f1 /proc/uptime) s: $(uname -r), $(systemctl --version | head -1)"
# Through a pipe: to a terminal, programs print what is meant for people who watch.
{
	runuser -u reeve -- env XDG_RUNTIME_DIR=/run/user/1000 systemd-run --user --wait --pipe --collect --quiet \
		--unit=guest-command -p KillMode=process --working-directory=/work/tree --setenv=HOME=/home/reeve \
		/bin/bash -c "$command"
	echo $? >/work/code
} 2>&1 | cat
sync
echo "REEVE-VM-EXIT $(cat /work/code)"
systemctl poweroff --force --force
