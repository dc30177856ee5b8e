# Completes omnes in fish, when it is first asked to.
_OMNES_COMPLETE=fish_source omnes | source
