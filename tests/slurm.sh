# slurm.sh COMMAND...: on the head of an emulated cluster, runs the command while Slurm manages the hosts. Exit code 77: its daemons
# do not run here.
set -e
slots=$(sed -n '1s/.*=//p' /dev/shm/cluster/open-mpi)
hosts=$(ls /dev/shm/cluster/hosts | wc -l)
# Without authentication, process tracking by cgroups and limits, which all belong to the real machine.
export SLURM_CONF=/dev/shm/cluster/slurm.conf
cat >$SLURM_CONF <<END
ClusterName=emulated
SlurmctldHost=head
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/linear
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1
ReturnToService=2
StateSaveLocation=/tmp/slurmctld
SlurmdSpoolDir=/tmp/slurmd
SlurmctldPidFile=/tmp/slurmctld.pid
SlurmdPidFile=/tmp/slurmd.pid
NodeName=n[1-$hosts] CPUs=$slots
PartitionName=all Nodes=ALL Default=YES
END
mkdir /tmp/slurmctld
PATH=$PATH:/usr/sbin
slurmctld -D >/tmp/slurmctld.log 2>&1 &
for host in $(ls /dev/shm/cluster/hosts); do
  ssh "$host" "export SLURM_CONF=$SLURM_CONF; mkdir /tmp/slurmd; exec slurmd -D >/tmp/slurmd.log 2>&1" &
done
tries=0
until [ "$(sinfo --noheader --states=idle --format=%D 2>/dev/null)" = "$hosts" ]; do
  ((++tries < 300)) || { echo "Slurm's daemons do not run here: $(tail -n 1 /tmp/slurmctld.log)" >&2; exit 77; }
  sleep 0.1
done
# Launchers are to learn of the hosts from Slurm alone.
unset "${!PRTE_MCA_plm@}" "${!PRTE_MCA_prte_default@}" "${!HYDRA_@}" "${!I_MPI_HYDRA_@}" "${!OMPI_MCA_plm@}" "${!OMPI_MCA_orte@}"
"$@"
