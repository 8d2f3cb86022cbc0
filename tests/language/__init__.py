"""How the product's texts are measured: paragraphs, semicolons, "you", and phrases that readers had to guess."""
