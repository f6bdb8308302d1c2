"""Real rollouts without nodes: ansible-playbook runs the playbooks of this tree, and a connection plugin answers for the nodes.

Everything of the controller is real: inventory, variables, plan, strategies, action plugins, and the modules, which are packed
and sent. Only what would run on a node does not. `answers.py` takes each module, reads its name and arguments, and gives the answer that
a table has for it; what the table does not say, a good node would. A node has a state of its own between two modules (kernel, boot, phase
of the update), so that a rollout can be resumed. `over_ssh.py` does the same behind ssh(1).

    rollout = Rollout(tmp_path, {"node1": {}, "node2": {"down": True}})
    done = rollout.run(kup_kernel="7.2")
    assert done.results == {"node1": "committed", "node2": "lost"}

`nodes.py` says what a table may have. `tests/unit/rollout/` has the tests.
"""
