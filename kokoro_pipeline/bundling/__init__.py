"""An artifact, the program that speaks it and TVM's libraries, together in one folder: a bundle."""
