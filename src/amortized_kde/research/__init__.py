"""Research code: tasks, training of the models, reproduction of the paper's evidence."""
