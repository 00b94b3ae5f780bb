"""The paper's figures and its theorem, one module each: settings, tasks, numbers and the picture."""
