"""The evaluation of the paper (Kashyap et al., USENIX ATC 2016, section 6), with this collection and Debian's packages: a part each."""
