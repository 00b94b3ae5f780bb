"""What the limbs of an object say of it: the search by them, and how surely their turns are known."""
